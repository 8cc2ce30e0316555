CREATE TABLE `model_vendors` (
	`name` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`base_url` text NOT NULL,
	`key` text,
	`created` integer NOT NULL
);
