CREATE TABLE `pruned` (
	`name` text PRIMARY KEY NOT NULL,
	`before` integer NOT NULL,
	`cursor` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `usage_latency` (
	`account_id` text NOT NULL,
	`slot` integer NOT NULL,
	`key_id` text NOT NULL,
	`operation` text NOT NULL,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`bucket` integer NOT NULL,
	`calls` integer NOT NULL,
	PRIMARY KEY(`account_id`, `slot`, `key_id`, `operation`, `provider`, `model`, `bucket`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `usage_latency_days` (
	`account_id` text NOT NULL,
	`day` integer NOT NULL,
	`key_id` text NOT NULL,
	`operation` text NOT NULL,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`bucket` integer NOT NULL,
	`calls` integer NOT NULL,
	PRIMARY KEY(`account_id`, `day`, `key_id`, `operation`, `provider`, `model`, `bucket`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `audit_log` ADD `before` text;--> statement-breakpoint
ALTER TABLE `requests` ADD `provider` text;--> statement-breakpoint
ALTER TABLE `requests` ADD `waiting_ms` integer;--> statement-breakpoint
ALTER TABLE `requests` ADD `upstream_ms` integer;--> statement-breakpoint
ALTER TABLE `requests` ADD `failure` text;--> statement-breakpoint
CREATE TRIGGER `latency_days_follow_new_slots` AFTER INSERT ON `usage_latency` BEGIN INSERT INTO `usage_latency_days` VALUES (NEW.`account_id`, NEW.`slot` / 96, NEW.`key_id`, NEW.`operation`, NEW.`provider`, NEW.`model`, NEW.`bucket`, NEW.`calls`) ON CONFLICT DO UPDATE SET `calls` = `calls` + excluded.`calls`; END;--> statement-breakpoint
CREATE TRIGGER `latency_days_follow_slots` AFTER UPDATE ON `usage_latency` BEGIN INSERT INTO `usage_latency_days` VALUES (NEW.`account_id`, NEW.`slot` / 96, NEW.`key_id`, NEW.`operation`, NEW.`provider`, NEW.`model`, NEW.`bucket`, NEW.`calls` - OLD.`calls`) ON CONFLICT DO UPDATE SET `calls` = `calls` + excluded.`calls`; END;
