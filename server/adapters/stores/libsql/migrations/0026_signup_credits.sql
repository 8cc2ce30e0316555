CREATE TABLE `signup_credits` (
	`user_id` text PRIMARY KEY NOT NULL,
	`network` text,
	`amount` integer NOT NULL,
	`at` integer NOT NULL,
	`state` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `signup_credits_at` ON `signup_credits` (`at`);