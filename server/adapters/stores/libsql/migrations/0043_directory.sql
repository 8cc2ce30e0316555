CREATE TABLE `account_directory` (
	`account_id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`role` text,
	`created_at` integer NOT NULL,
	CONSTRAINT "account_role_is_known" CHECK("account_directory"."role" IN ('operator', 'support'))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `account_directory_user` ON `account_directory` (`user_id`);--> statement-breakpoint
CREATE INDEX `account_directory_staff` ON `account_directory` (`role`) WHERE "account_directory"."role" IS NOT NULL;--> statement-breakpoint
INSERT INTO `account_directory` (`account_id`, `user_id`, `role`, `created_at`) SELECT `id`, `user_id`, CASE WHEN `operator` THEN 'operator' WHEN `support` THEN 'support' END, `created_at` FROM `accounts`;--> statement-breakpoint
ALTER TABLE `accounts` DROP COLUMN `operator`;--> statement-breakpoint
ALTER TABLE `accounts` DROP COLUMN `support`;