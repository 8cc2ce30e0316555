DROP INDEX `keys_account`;--> statement-breakpoint
CREATE INDEX `keys_live` ON `keys` (`account_id`,CASE WHEN "stops_at" IS NULL THEN 9007199254740991 ELSE "stops_at" END) WHERE "keys"."revoked_at" IS NULL;--> statement-breakpoint
CREATE INDEX `keys_account` ON `keys` (`account_id`,`id`);