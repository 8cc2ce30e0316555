--> statement-breakpoint
UPDATE `webhooks` SET `confirmed_at` = `created_at`;
