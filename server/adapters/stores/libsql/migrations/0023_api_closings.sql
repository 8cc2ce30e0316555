CREATE TABLE `api_closings` (
	`operation` text NOT NULL,
	`account_id` text NOT NULL,
	`price_version` text NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`operation`, `account_id`, `price_version`)
);
