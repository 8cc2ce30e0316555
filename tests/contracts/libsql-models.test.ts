import { describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseModelEntry } from '../../server/core/models/model-entry'
import { audit, openTestStores } from '../support/ledger-parts'

const ENTRY = { id: 'llama', upstream: { kind: 'openai' }, price: { input: 1, output: 2 } }

function model(entry: object) {
  const parsed = parseModelEntry(entry, { created: 7, priceVersion: () => 'price_1' })
  if (!parsed.ok) throw new Error(parsed.error)
  return parsed.value
}

describe('model store: libsql', () => {
  test('returns a model at once, and unchanged after a restart', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gateway-models-'))
    const first = await openTestStores({ folder })
    await first.models.put(model(ENTRY), ENTRY, audit('model.put'))
    const changed = { ...ENTRY, recharge_required: false }
    await first.models.put(model(changed), changed, audit('model.put'))
    expect(first.models.all()).toEqual([model(changed)])
    await first.close()
    const second = await openTestStores({ folder })
    expect(second.models.all()).toEqual([model(changed)])
    expect(await second.models.remove('llama', audit('model.remove'))).toBe(true)
    expect(await second.models.remove('llama', audit('model.remove'))).toBe(false)
    await second.close()
    const third = await openTestStores({ folder })
    expect(third.models.all()).toEqual([])
    await third.close()
    await rm(folder, { recursive: true })
  })
})
