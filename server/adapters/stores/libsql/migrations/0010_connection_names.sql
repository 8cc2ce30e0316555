ALTER TABLE `connections` ADD `name` text DEFAULT 'App' NOT NULL;--> statement-breakpoint
UPDATE `connections` SET `name` = coalesce((SELECT `oauth_client`.`name` FROM `oauth_client` WHERE `oauth_client`.`client_id` = `connections`.`client_id`), 'App');
