CREATE TABLE `identity_invitation` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`email` text NOT NULL,
	`role` text,
	`status` text DEFAULT 'pending' NOT NULL,
	`expires_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`inviter_id` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `identity_organization`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`inviter_id`) REFERENCES `identity_user`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `identity_invitation_organization` ON `identity_invitation` (`organization_id`);--> statement-breakpoint
CREATE TABLE `identity_member` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`user_id` text NOT NULL,
	`role` text DEFAULT 'viewer' NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `identity_organization`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`user_id`) REFERENCES `identity_user`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `identity_member_once` ON `identity_member` (`organization_id`,`user_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `identity_member_owner` ON `identity_member` (`organization_id`) WHERE "identity_member"."role" = 'owner';--> statement-breakpoint
CREATE INDEX `identity_member_user` ON `identity_member` (`user_id`);--> statement-breakpoint
CREATE TABLE `identity_organization` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`slug` text NOT NULL,
	`logo` text,
	`created_at` integer NOT NULL,
	`metadata` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `identity_organization_slug` ON `identity_organization` (`slug`);--> statement-breakpoint
DROP INDEX `accounts_user`;--> statement-breakpoint
CREATE INDEX `accounts_user` ON `accounts` (`user_id`);--> statement-breakpoint
DROP INDEX `connections_live`;--> statement-breakpoint
ALTER TABLE `connections` ADD `user_id` text DEFAULT '' NOT NULL;--> statement-breakpoint
UPDATE `connections` SET `user_id` = (SELECT `user_id` FROM `accounts` WHERE `accounts`.`id` = `connections`.`account_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `connections_live` ON `connections` (`user_id`,`client_id`) WHERE "connections"."disconnected_at" IS NULL;--> statement-breakpoint
ALTER TABLE `identity_session` ADD `active_organization_id` text;--> statement-breakpoint
ALTER TABLE `keys` ADD `made_by` text;--> statement-breakpoint
CREATE INDEX `keys_made_by` ON `keys` (`account_id`,`made_by`);--> statement-breakpoint
UPDATE `keys` SET `made_by` = (SELECT `user_id` FROM `accounts` WHERE `accounts`.`id` = `keys`.`account_id`);--> statement-breakpoint
INSERT INTO `identity_organization` (`id`, `name`, `slug`, `created_at`) SELECT `account_id`, `name`, `account_id`, `account_directory`.`created_at` FROM `account_directory` JOIN `identity_user` ON `identity_user`.`id` = `account_directory`.`user_id`;--> statement-breakpoint
INSERT INTO `identity_member` (`id`, `organization_id`, `user_id`, `role`, `created_at`) SELECT `account_id`, `account_id`, `user_id`, 'owner', `account_directory`.`created_at` FROM `account_directory` JOIN `identity_user` ON `identity_user`.`id` = `account_directory`.`user_id`;