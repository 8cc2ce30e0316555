CREATE TABLE `social_links` (
	`id` text PRIMARY KEY NOT NULL,
	`state_hash` text NOT NULL,
	`account_id` text NOT NULL,
	`pool_id` text NOT NULL,
	`key_id` text NOT NULL,
	`scopes` text NOT NULL,
	`verifier` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`used_at` integer,
	`outcome` text,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`pool_id`) REFERENCES `pools`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`key_id`) REFERENCES `keys`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `social_links_state` ON `social_links` (`state_hash`);--> statement-breakpoint
CREATE INDEX `social_links_account` ON `social_links` (`account_id`,`pool_id`,`id`);--> statement-breakpoint
CREATE TABLE `social_sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`pool_id` text NOT NULL,
	`key_id` text NOT NULL,
	`network` text NOT NULL,
	`user_id` text NOT NULL,
	`username` text NOT NULL,
	`name` text NOT NULL,
	`scopes` text NOT NULL,
	`access_token` text NOT NULL,
	`refresh_token` text,
	`access_expires_at` integer NOT NULL,
	`linked_at` integer NOT NULL,
	`refreshed_at` integer,
	`revoked_at` integer,
	`missing_scope` text,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`pool_id`) REFERENCES `pools`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`key_id`) REFERENCES `keys`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `social_sessions_pool` ON `social_sessions` (`pool_id`);--> statement-breakpoint
CREATE INDEX `social_sessions_account` ON `social_sessions` (`account_id`,`id`);