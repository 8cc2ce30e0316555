import { describe, expect, test } from 'bun:test'
import type { Model } from '../../../server/core/models/model'
import { ModelCatalog } from '../../../server/core/models/model-catalog'
import { type ModelEntry, parseModelEntry } from '../../../server/core/models/model-entry'

function model(id: string, ownedBy: string): Model {
  const entry: ModelEntry = { id, upstream: { kind: 'openai' }, price: { input: 1, output: 2 }, owned_by: ownedBy }
  const parsed = parseModelEntry(entry, { created: 1, priceVersion: () => 'v' })
  if (!parsed.ok) throw new Error(parsed.error)
  return parsed.value
}

describe('the model catalog', () => {
  test("lists the file's models and the operator's by id, and the operator's take precedence", () => {
    const stored: Model[] = []
    const catalog = new ModelCatalog([model('b', 'file'), model('a', 'file')], { all: () => stored })
    expect(catalog.list().map(({ id }) => id)).toEqual(['a', 'b'])
    stored.push(model('b', 'operator'), model('c', 'operator'))
    expect(catalog.list().map(({ id, ownedBy }) => `${id} ${ownedBy}`)).toEqual(['a file', 'b operator', 'c operator'])
    expect(catalog.byId('b')?.ownedBy).toBe('operator')
    expect(catalog.byId('nobody')).toBeNull()
  })
})
