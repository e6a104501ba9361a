"""DynamoDB's typed JSON: items, and the changes that a table's stream tells. Start at `format.py`."""

from penstock.formats.dynamodb.format import DynamodbFormat as DynamodbFormat
