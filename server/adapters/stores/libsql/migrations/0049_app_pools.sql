ALTER TABLE `accounts` ADD `closed_at` integer;--> statement-breakpoint
ALTER TABLE `pools` ADD `parent_id` text;
--> statement-breakpoint
UPDATE pools SET parent_id = (SELECT c.pool_id FROM keys k JOIN connections c ON c.id = k.created_by
  WHERE k.pool_id = pools.id AND k.replaces IS NULL)
WHERE id IN (SELECT k.pool_id FROM keys k WHERE k.created_by IS NOT NULL AND k.replaces IS NULL);
--> statement-breakpoint
UPDATE pools SET spent = spent + (SELECT coalesce(sum(c.spent), 0) FROM pools c WHERE c.parent_id = pools.id)
WHERE id IN (SELECT parent_id FROM pools WHERE parent_id IS NOT NULL);
--> statement-breakpoint
UPDATE accounts SET closed_at = created_at
WHERE user_id IN (SELECT id FROM identity_user WHERE email = accounts.id || '@deleted.invalid');
