CREATE TABLE `usage_days` (
	`account_id` text NOT NULL,
	`day` integer NOT NULL,
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
	PRIMARY KEY(`account_id`, `day`, `key_id`, `operation`, `status`, `model`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `usage_days` SELECT `account_id`, `slot` / 96, `key_id`, `operation`, `status`, `model`, sum(`requests`), sum(`input_tokens`), sum(`output_tokens`), sum(`cache_read_tokens`), sum(`cache_write_tokens`), sum(`charged`) FROM `usage_rollup` GROUP BY 1, 2, 3, 4, 5, 6;--> statement-breakpoint
CREATE TRIGGER `usage_days_follow_new_slots` AFTER INSERT ON `usage_rollup` BEGIN INSERT INTO `usage_days` VALUES (NEW.`account_id`, NEW.`slot` / 96, NEW.`key_id`, NEW.`operation`, NEW.`status`, NEW.`model`, NEW.`requests`, NEW.`input_tokens`, NEW.`output_tokens`, NEW.`cache_read_tokens`, NEW.`cache_write_tokens`, NEW.`charged`) ON CONFLICT DO UPDATE SET `requests` = `requests` + excluded.`requests`, `input_tokens` = `input_tokens` + excluded.`input_tokens`, `output_tokens` = `output_tokens` + excluded.`output_tokens`, `cache_read_tokens` = `cache_read_tokens` + excluded.`cache_read_tokens`, `cache_write_tokens` = `cache_write_tokens` + excluded.`cache_write_tokens`, `charged` = `charged` + excluded.`charged`; END;--> statement-breakpoint
CREATE TRIGGER `usage_days_follow_slots` AFTER UPDATE ON `usage_rollup` BEGIN INSERT INTO `usage_days` VALUES (NEW.`account_id`, NEW.`slot` / 96, NEW.`key_id`, NEW.`operation`, NEW.`status`, NEW.`model`, NEW.`requests` - OLD.`requests`, NEW.`input_tokens` - OLD.`input_tokens`, NEW.`output_tokens` - OLD.`output_tokens`, NEW.`cache_read_tokens` - OLD.`cache_read_tokens`, NEW.`cache_write_tokens` - OLD.`cache_write_tokens`, NEW.`charged` - OLD.`charged`) ON CONFLICT DO UPDATE SET `requests` = `requests` + excluded.`requests`, `input_tokens` = `input_tokens` + excluded.`input_tokens`, `output_tokens` = `output_tokens` + excluded.`output_tokens`, `cache_read_tokens` = `cache_read_tokens` + excluded.`cache_read_tokens`, `cache_write_tokens` = `cache_write_tokens` + excluded.`cache_write_tokens`, `charged` = `charged` + excluded.`charged`; END;
