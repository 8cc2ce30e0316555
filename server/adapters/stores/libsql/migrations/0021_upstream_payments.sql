CREATE TABLE `upstream_payments` (
	`request` text PRIMARY KEY NOT NULL,
	`operation` text NOT NULL,
	`api` text NOT NULL,
	`chain_id` integer NOT NULL,
	`token` text NOT NULL,
	`payer` text NOT NULL,
	`payee` text NOT NULL,
	`amount` text NOT NULL,
	`cost` integer NOT NULL,
	`nonce` text NOT NULL,
	`valid_before` integer NOT NULL,
	`state` text NOT NULL,
	`signed_at` integer NOT NULL,
	`ended_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `upstream_payments_nonce` ON `upstream_payments` (`nonce`);--> statement-breakpoint
CREATE INDEX `upstream_payments_open` ON `upstream_payments` (`state`,`valid_before`);--> statement-breakpoint
CREATE INDEX `upstream_payments_signed` ON `upstream_payments` (`signed_at`);