CREATE TABLE `social_approvals` (
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
	`link_id` text NOT NULL,
	`proof_hash` text NOT NULL,
	`expires_at` integer NOT NULL,
	`confirmed_at` integer,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`pool_id`) REFERENCES `pools`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`key_id`) REFERENCES `keys`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`link_id`) REFERENCES `social_links`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `social_approvals_proof` ON `social_approvals` (`proof_hash`);--> statement-breakpoint
CREATE INDEX `social_approvals_pool` ON `social_approvals` (`pool_id`);--> statement-breakpoint
CREATE INDEX `social_approvals_expires` ON `social_approvals` (`expires_at`);