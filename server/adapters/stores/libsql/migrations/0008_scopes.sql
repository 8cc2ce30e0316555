CREATE TABLE `usage_scopes` (
	`account_id` text NOT NULL,
	`scope` text NOT NULL,
	`day` integer NOT NULL,
	`key_id` text NOT NULL,
	`operation` text NOT NULL,
	`model` text NOT NULL,
	`requests` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`cache_read_tokens` integer NOT NULL,
	`cache_write_tokens` integer NOT NULL,
	`charged` integer NOT NULL,
	PRIMARY KEY(`account_id`, `scope`, `day`, `key_id`, `operation`, `model`)
);
--> statement-breakpoint
CREATE INDEX `usage_scopes_day` ON `usage_scopes` (`account_id`,`day`);--> statement-breakpoint
ALTER TABLE `pools` ADD `scope_budget` text;