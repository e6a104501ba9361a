"""Changing messages before they become rows."""
