CREATE TABLE `accounts` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`operator` integer NOT NULL,
	`growth_approved` integer DEFAULT false NOT NULL,
	`custom_limits` text,
	`credit` integer DEFAULT 0 NOT NULL,
	`paid` integer DEFAULT 0 NOT NULL,
	`topped_up` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	CONSTRAINT "account_posted_not_negative" CHECK("accounts"."credit" >= 0 AND "accounts"."paid" >= 0)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `accounts_user` ON `accounts` (`user_id`);--> statement-breakpoint
CREATE TABLE `audit_log` (
	`id` text PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`actor_kind` text NOT NULL,
	`actor_id` text NOT NULL,
	`address` text,
	`account_id` text,
	`key_id` text,
	`action` text NOT NULL,
	`detail` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `audit_log_account` ON `audit_log` (`account_id`,`id`);--> statement-breakpoint
CREATE TABLE `prices` (
	`id` text PRIMARY KEY NOT NULL,
	`operation` text NOT NULL,
	`account_id` text,
	`amount` integer,
	`at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `identity_account` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`provider_id` text NOT NULL,
	`user_id` text NOT NULL,
	`access_token` text,
	`refresh_token` text,
	`id_token` text,
	`access_token_expires_at` integer,
	`refresh_token_expires_at` integer,
	`scope` text,
	`password` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `identity_user`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `identity_account_user_id_idx` ON `identity_account` (`user_id`);--> statement-breakpoint
CREATE TABLE `identity_session` (
	`id` text PRIMARY KEY NOT NULL,
	`expires_at` integer NOT NULL,
	`token` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`ip_address` text,
	`user_agent` text,
	`user_id` text NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `identity_user`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `identity_session_token_unique` ON `identity_session` (`token`);--> statement-breakpoint
CREATE INDEX `identity_session_user_id_idx` ON `identity_session` (`user_id`);--> statement-breakpoint
CREATE TABLE `identity_user` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`email` text NOT NULL,
	`email_verified` integer DEFAULT false NOT NULL,
	`image` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `identity_user_email_unique` ON `identity_user` (`email`);--> statement-breakpoint
CREATE TABLE `identity_verification` (
	`id` text PRIMARY KEY NOT NULL,
	`identifier` text NOT NULL,
	`value` text NOT NULL,
	`expires_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `identity_verification_identifier_idx` ON `identity_verification` (`identifier`);--> statement-breakpoint
CREATE TABLE `keys` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`pool_id` text NOT NULL,
	`hash` text NOT NULL,
	`prefix` text NOT NULL,
	`last4` text NOT NULL,
	`name` text NOT NULL,
	`allowed_ips` text NOT NULL,
	`allowed_endpoints` text NOT NULL,
	`allowed_models` text NOT NULL,
	`rpm_limit` integer,
	`tpm_limit` integer,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`disabled_at` integer,
	`revoked_at` integer,
	`stops_at` integer,
	`last_used_at` integer,
	`replaces` text,
	`replaced_by` text,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`pool_id`) REFERENCES `pools`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `keys_hash` ON `keys` (`hash`);--> statement-breakpoint
CREATE INDEX `keys_account` ON `keys` (`account_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `keys_live_name` ON `keys` (`account_id`,`name`) WHERE "keys"."revoked_at" IS NULL AND "keys"."replaced_by" IS NULL;--> statement-breakpoint
CREATE TABLE `pools` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`spending_limit` integer,
	`spent` integer DEFAULT 0 NOT NULL,
	`budget` text,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `entries` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`transaction_id` text NOT NULL,
	`kind` text NOT NULL,
	`account_id` text NOT NULL,
	`debit` text NOT NULL,
	`credit` text NOT NULL,
	`amount` integer NOT NULL,
	`at` integer NOT NULL,
	`request_id` text,
	`description` text NOT NULL,
	`reference` text,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "entry_amount_positive" CHECK("entries"."amount" > 0),
	CONSTRAINT "entry_moves" CHECK("entries"."debit" <> "entries"."credit")
);
--> statement-breakpoint
CREATE INDEX `entries_account` ON `entries` (`account_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `entries_reference` ON `entries` (`reference`) WHERE "entries"."reference" IS NOT NULL;--> statement-breakpoint
CREATE TABLE `owner` (
	`id` integer PRIMARY KEY NOT NULL,
	`epoch` integer NOT NULL,
	`asserted` integer NOT NULL,
	`last_group` integer NOT NULL,
	CONSTRAINT "owner_epoch_is_current" CHECK("owner"."asserted" = "owner"."epoch")
);
--> statement-breakpoint
CREATE TABLE `requests` (
	`id` text PRIMARY KEY NOT NULL,
	`client_request_id` text,
	`account_id` text NOT NULL,
	`key_id` text NOT NULL,
	`operation` text NOT NULL,
	`at` integer NOT NULL,
	`status` integer NOT NULL,
	`code` text,
	`latency_ms` integer NOT NULL,
	`address` text NOT NULL,
	`input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`cache_read_tokens` integer NOT NULL,
	`cache_write_tokens` integer NOT NULL,
	`cost` integer NOT NULL,
	`price_version` text,
	`unit_price` integer,
	`units` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `requests_account` ON `requests` (`account_id`,`at`);--> statement-breakpoint
CREATE INDEX `requests_client_id` ON `requests` (`account_id`,`client_request_id`) WHERE "requests"."client_request_id" IS NOT NULL;--> statement-breakpoint
CREATE TABLE `usage_rollup` (
	`account_id` text NOT NULL,
	`slot` integer NOT NULL,
	`key_id` text NOT NULL,
	`operation` text NOT NULL,
	`status` integer NOT NULL,
	`requests` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`cache_read_tokens` integer NOT NULL,
	`cache_write_tokens` integer NOT NULL,
	`charged` integer NOT NULL,
	PRIMARY KEY(`account_id`, `slot`, `key_id`, `operation`, `status`)
) WITHOUT ROWID;--> statement-breakpoint
CREATE TRIGGER `entries_are_not_changed` BEFORE UPDATE ON `entries` BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;--> statement-breakpoint
CREATE TRIGGER `entries_are_not_deleted` BEFORE DELETE ON `entries` BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;--> statement-breakpoint
INSERT INTO `owner` (`id`, `epoch`, `asserted`, `last_group`) VALUES (1, 0, 0, 0);
