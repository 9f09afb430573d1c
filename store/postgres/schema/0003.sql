-- Version 3 of the schema: items have more fields, packed by the client. Programs of version 2
-- leave them as they are.
ALTER TABLE gsimc.item ADD more bytea NOT NULL DEFAULT '';
