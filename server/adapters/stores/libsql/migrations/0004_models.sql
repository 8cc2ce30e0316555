CREATE TABLE `models` (
	`id` text PRIMARY KEY NOT NULL,
	`entry` text NOT NULL,
	`price_version` text NOT NULL,
	`created` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `kept_holds` (
	`id` text PRIMARY KEY NOT NULL,
	`hold` text NOT NULL,
	`call` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_usage_rollup` (
	`account_id` text NOT NULL,
	`slot` integer NOT NULL,
	`key_id` text NOT NULL,
	`operation` text NOT NULL,
	`status` integer NOT NULL,
	`model` text DEFAULT '' NOT NULL,
	`requests` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`cache_read_tokens` integer NOT NULL,
	`cache_write_tokens` integer NOT NULL,
	`charged` integer NOT NULL,
	PRIMARY KEY(`account_id`, `slot`, `key_id`, `operation`, `status`, `model`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_usage_rollup`("account_id", "slot", "key_id", "operation", "status", "model", "requests", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "charged") SELECT "account_id", "slot", "key_id", "operation", "status", '', "requests", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "charged" FROM `usage_rollup`;--> statement-breakpoint
DROP TABLE `usage_rollup`;--> statement-breakpoint
ALTER TABLE `__new_usage_rollup` RENAME TO `usage_rollup`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
ALTER TABLE `requests` ADD `model` text;--> statement-breakpoint
ALTER TABLE `requests` ADD `usage_source` text;--> statement-breakpoint
ALTER TABLE `requests` ADD `charge_lines` text;