CREATE TABLE `worker_credentials` (
	`name` text PRIMARY KEY NOT NULL,
	`salt` text NOT NULL,
	`created_at` integer NOT NULL
);
