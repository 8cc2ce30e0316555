CREATE TABLE `kept_answers` (
	`account_id` text NOT NULL,
	`operation` text NOT NULL,
	`key` text NOT NULL,
	`fingerprint` text NOT NULL,
	`state` text NOT NULL,
	`request_id` text NOT NULL,
	`body` text,
	`headers` text NOT NULL,
	`cost` integer DEFAULT 0 NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `operation`, `key`)
);
--> statement-breakpoint
CREATE INDEX `kept_answers_at` ON `kept_answers` (`at`);--> statement-breakpoint
CREATE TABLE `payments` (
	`id` text PRIMARY KEY NOT NULL,
	`key` text NOT NULL,
	`purpose` text NOT NULL,
	`operation` text NOT NULL,
	`account_id` text,
	`method` text NOT NULL,
	`payer` text NOT NULL,
	`amount` integer NOT NULL,
	`currency` text NOT NULL,
	`binding` text NOT NULL,
	`credential_hash` text NOT NULL,
	`transaction_id` text NOT NULL,
	`valid_before` integer,
	`request_id` text NOT NULL,
	`client_request_id` text,
	`state` text NOT NULL,
	`paid` integer NOT NULL,
	`lease_until` integer NOT NULL,
	`attempts` integer NOT NULL,
	`reference` text,
	`last_error` text,
	`refused_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	CONSTRAINT "payment_state" CHECK("payments"."state" IN ('working', 'released', 'settling', 'settled', 'served', 'paid_unserved')),
	CONSTRAINT "payment_served_is_paid" CHECK("payments"."paid" = 1 OR "payments"."state" NOT IN ('settled', 'served', 'paid_unserved'))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `payments_key` ON `payments` (`key`);--> statement-breakpoint
CREATE INDEX `payments_account` ON `payments` (`account_id`,`id`) WHERE "payments"."account_id" IS NOT NULL;--> statement-breakpoint
CREATE INDEX `payments_open` ON `payments` (`lease_until`) WHERE "payments"."state" IN ('working', 'settling', 'settled', 'paid_unserved');--> statement-breakpoint
CREATE INDEX `payments_payer` ON `payments` (`payer`);--> statement-breakpoint
PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_entries` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`transaction_id` text NOT NULL,
	`kind` text NOT NULL,
	`account_id` text,
	`debit` text NOT NULL,
	`credit` text NOT NULL,
	`amount` integer NOT NULL,
	`at` integer NOT NULL,
	`request_id` text,
	`description` text NOT NULL,
	`reference` text,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "entry_amount_positive" CHECK("__new_entries"."amount" > 0),
	CONSTRAINT "entry_moves" CHECK("__new_entries"."debit" <> "__new_entries"."credit")
);
--> statement-breakpoint
INSERT INTO `__new_entries`("seq", "transaction_id", "kind", "account_id", "debit", "credit", "amount", "at", "request_id", "description", "reference") SELECT "seq", "transaction_id", "kind", "account_id", "debit", "credit", "amount", "at", "request_id", "description", "reference" FROM `entries`;--> statement-breakpoint
DROP TABLE `entries`;--> statement-breakpoint
ALTER TABLE `__new_entries` RENAME TO `entries`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE INDEX `entries_account` ON `entries` (`account_id`);--> statement-breakpoint
CREATE TRIGGER `entries_are_not_changed` BEFORE UPDATE ON `entries` BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;--> statement-breakpoint
CREATE TRIGGER `entries_are_not_deleted` BEFORE DELETE ON `entries` BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;--> statement-breakpoint
CREATE UNIQUE INDEX `entries_reference` ON `entries` (`reference`) WHERE "entries"."reference" IS NOT NULL;--> statement-breakpoint
ALTER TABLE `accounts` ADD `debt` integer DEFAULT 0 NOT NULL;