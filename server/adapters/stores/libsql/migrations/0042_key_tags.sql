ALTER TABLE `account_settings` ADD `saved_views` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `keys` ADD `tags` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `keys` ADD `created_by` text;--> statement-breakpoint
UPDATE `keys` SET `created_by` = `made`.`actor_id` FROM (SELECT `actor_id`, coalesce(json_extract(`detail`, '$.successor'), `key_id`) AS `key_id` FROM `audit_log` WHERE `actor_kind` = 'app' AND `action` IN ('key.create', 'key.rotate')) AS `made` WHERE `keys`.`id` = `made`.`key_id`;
