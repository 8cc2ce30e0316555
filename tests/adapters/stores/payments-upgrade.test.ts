import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { olderDatabase } from '../../support/databases/older-database'
import { NOON, openTestStores } from '../../support/ledger-parts'

/** A database as it was before payments knew when they were sent, with these in it. */
function before(
  folder: string,
  rows: readonly { id: string; state: string; paid: number; refused: number | null }[],
): Promise<void> {
  return olderDatabase(folder, '0012_payment_answers', async (client) => {
    for (const { id, state, paid, refused } of rows)
      await client.execute({
        sql: `INSERT INTO payments (id, key, purpose, operation, method, payer, amount, currency, binding, credential_hash, transaction_id,
          request_id, state, paid, lease_until, attempts, refused_at, created_at, updated_at)
        VALUES (?1, ?1, 'call', 'image-search', 'tempo', '0x', 5000, '0x', '', ?1, ?1, '', ?2, ?3, ?5, 1, ?4, ?5, ?5)`,
        args: [id, state, paid, refused, NOON],
      })
  })
}

test('payments of an older database are checked again, and those that were sent are recognized', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-upgrade-'))
  await before(folder, [
    { id: 'settling', state: 'settling', paid: 0, refused: null },
    { id: 'refused', state: 'released', paid: 0, refused: NOON },
    { id: 'unsent', state: 'released', paid: 0, refused: null },
    { id: 'served', state: 'served', paid: 1, refused: null },
  ])
  for (let opened = 0; opened < 2; opened++) {
    const { paymentClaims, close } = await openTestStores({ folder })
    const sent = []
    for (const key of ['settling', 'refused', 'unsent', 'served']) sent.push((await paymentClaims.find(key))?.sentAt)
    expect(sent).toEqual([NOON, NOON, null, NOON])
    expect((await paymentClaims.unfinished(NOON - 1, 9)).map(({ key }) => key)).toEqual([])
    expect((await paymentClaims.unfinished(NOON, 9)).map(({ key }) => key)).toEqual(['settling'])
    await close()
  }
  await rm(folder, { recursive: true, force: true })
})
