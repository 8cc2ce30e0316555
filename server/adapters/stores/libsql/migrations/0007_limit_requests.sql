CREATE TABLE `limit_requests` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`at` integer NOT NULL,
	`status` text NOT NULL,
	`peak_rpm` integer NOT NULL,
	`peak_tpm` integer NOT NULL,
	`endpoints` text NOT NULL,
	`use_case` text NOT NULL,
	`reason` text,
	`decided_at` integer,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `limit_requests_account` ON `limit_requests` (`account_id`,`id`);--> statement-breakpoint
CREATE INDEX `limit_requests_status` ON `limit_requests` (`status`,`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `limit_requests_one_open` ON `limit_requests` (`account_id`) WHERE "limit_requests"."status" = 'pending';