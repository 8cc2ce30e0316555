CREATE TABLE `account_settings` (
	`account_id` text PRIMARY KEY NOT NULL,
	`timezone` text,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
