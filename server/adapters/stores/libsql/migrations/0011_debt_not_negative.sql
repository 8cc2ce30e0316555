PRAGMA foreign_keys=OFF;--> statement-breakpoint
INSERT INTO `entries`("transaction_id", "kind", "account_id", "debit", "credit", "amount", "at", "request_id", "description", "reference") SELECT 'txn_' || lower(hex(randomblob(16))), 'offset', "id", "id" || '/debt', "id" || '/paid', -"debt", unixepoch() * 1000, NULL, 'Paid balance that was booked as debt below zero', 'offset:' || "id" || ':0011' FROM `accounts` WHERE "debt" < 0;--> statement-breakpoint
UPDATE `accounts` SET "paid" = "paid" - "debt", "debt" = 0 WHERE "debt" < 0;--> statement-breakpoint
CREATE TABLE `__new_accounts` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`operator` integer NOT NULL,
	`growth_approved` integer DEFAULT false NOT NULL,
	`custom_limits` text,
	`credit` integer DEFAULT 0 NOT NULL,
	`paid` integer DEFAULT 0 NOT NULL,
	`topped_up` integer DEFAULT 0 NOT NULL,
	`debt` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	CONSTRAINT "account_posted_not_negative" CHECK("__new_accounts"."credit" >= 0 AND "__new_accounts"."paid" >= 0),
	CONSTRAINT "account_debt_not_negative" CHECK("__new_accounts"."debt" >= 0)
);
--> statement-breakpoint
INSERT INTO `__new_accounts`("id", "user_id", "operator", "growth_approved", "custom_limits", "credit", "paid", "topped_up", "debt", "created_at") SELECT "id", "user_id", "operator", "growth_approved", "custom_limits", "credit", "paid", "topped_up", "debt", "created_at" FROM `accounts`;--> statement-breakpoint
DROP TABLE `accounts`;--> statement-breakpoint
ALTER TABLE `__new_accounts` RENAME TO `accounts`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE UNIQUE INDEX `accounts_user` ON `accounts` (`user_id`);