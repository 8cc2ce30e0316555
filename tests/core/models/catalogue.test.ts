import { describe, expect, test } from 'bun:test'
import { ModelCatalogue } from '../../../server/core/models/catalogue'
import type { Model } from '../../../server/core/models/model'
import { type ModelEntry, parseModelEntry } from '../../../server/core/models/model-entry'

function model(id: string, ownedBy: string): Model {
  const entry: ModelEntry = { id, upstream: { kind: 'openai' }, price: { input: 1, output: 2 }, owned_by: ownedBy }
  const parsed = parseModelEntry(entry, { created: 1, priceVersion: () => 'v' })
  if (!parsed.ok) throw new Error(parsed.error)
  return parsed.value
}

describe('the model catalogue', () => {
  test("lists the file's models and the operator's by id, and the operator's goes before the file's", () => {
    const stored: Model[] = []
    const catalogue = new ModelCatalogue([model('b', 'file'), model('a', 'file')], { all: () => stored })
    expect(catalogue.list().map(({ id }) => id)).toEqual(['a', 'b'])
    stored.push(model('b', 'operator'), model('c', 'operator'))
    expect(catalogue.list().map(({ id, ownedBy }) => `${id} ${ownedBy}`)).toEqual([
      'a file',
      'b operator',
      'c operator',
    ])
    expect(catalogue.byId('b')?.ownedBy).toBe('operator')
    expect(catalogue.byId('nobody')).toBeNull()
  })
})
