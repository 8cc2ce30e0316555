CREATE TABLE `api_operations` (
	`name` text PRIMARY KEY NOT NULL,
	`api` text NOT NULL,
	`position` integer NOT NULL,
	`id` text NOT NULL,
	`method` text NOT NULL,
	`path` text NOT NULL,
	`title` text NOT NULL,
	`description` text NOT NULL,
	`definition` text NOT NULL,
	`price_version` text NOT NULL,
	`tool_name` text NOT NULL,
	`enabled` integer NOT NULL,
	FOREIGN KEY (`api`) REFERENCES `apis`(`name`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`price_version`) REFERENCES `api_prices`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_operations_tool` ON `api_operations` (`tool_name`);--> statement-breakpoint
CREATE INDEX `api_operations_api` ON `api_operations` (`api`,`position`);--> statement-breakpoint
CREATE TABLE `api_prices` (
	`id` text PRIMARY KEY NOT NULL,
	`operation` text NOT NULL,
	`price` text NOT NULL,
	`at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `api_tools` (
	`name` text PRIMARY KEY NOT NULL,
	`operation` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_tools_operation` ON `api_tools` (`operation`);--> statement-breakpoint
CREATE TABLE `apis` (
	`name` text PRIMARY KEY NOT NULL,
	`title` text NOT NULL,
	`description` text NOT NULL,
	`base_url` text NOT NULL,
	`auth` text NOT NULL,
	`timeout_ms` integer NOT NULL,
	`concurrency` integer NOT NULL,
	`cache_seconds` integer NOT NULL,
	`headers` text NOT NULL,
	`enabled` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `removed_apis` (
	`name` text PRIMARY KEY NOT NULL,
	`at` integer NOT NULL
);
--> statement-breakpoint
CREATE TRIGGER `api_prices_are_not_changed` BEFORE UPDATE ON `api_prices` BEGIN SELECT RAISE(ABORT, 'api_prices are append-only'); END;--> statement-breakpoint
CREATE TRIGGER `api_prices_are_not_deleted` BEFORE DELETE ON `api_prices` BEGIN SELECT RAISE(ABORT, 'api_prices are append-only'); END;--> statement-breakpoint
CREATE TRIGGER `api_tools_are_not_changed` BEFORE UPDATE ON `api_tools` BEGIN SELECT RAISE(ABORT, 'api_tools are append-only'); END;--> statement-breakpoint
CREATE TRIGGER `api_tools_are_not_deleted` BEFORE DELETE ON `api_tools` BEGIN SELECT RAISE(ABORT, 'api_tools are append-only'); END;
