import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { edited, inserted, objectMembers } from '../../../server/pipeline/models/wires/json/json-members'

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (of: Uint8Array) => new TextDecoder().decode(of)

describe('members of a JSON object, in place', () => {
  test('are found where any parser finds them, whatever the whitespace and the strings', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(0, 1, 3), (object, indent) => {
        const source = bytes(JSON.stringify(object, null, indent))
        const members = objectMembers(source)
        const clean: unknown = JSON.parse(JSON.stringify(object))
        expect([...(members ?? [])].map(([name]) => name).sort()).toEqual(Object.keys(Object(clean)).sort())
        for (const [name, { start, end }] of members ?? [])
          expect(JSON.parse(text(source.subarray(start, end)))).toEqual(Reflect.get(Object(clean), name))
      }),
    )
  })

  test('that appear twice are reported, also if one is escaped', () => {
    expect(objectMembers(bytes('{"a":1,"a":2}'))).toBeNull()
    expect(objectMembers(bytes('{"a":1,"\\u0061":2}'))).toBeNull()
    expect(objectMembers(bytes('{"a":{"b":1},"b":2}'))?.size).toBe(2)
  })

  test('are changed, and every other byte stays the same', () => {
    const source = bytes('{ "model" : "x" ,\n "text":"Ünï \\"q\\" {}", "n": 1e2 }')
    const model = objectMembers(source)?.get('model')
    if (!model) throw new Error('not found')
    const changed = edited(source, [{ ...model, text: '"other"' }, inserted(source, 0, 'cap', 5)])
    expect(text(changed)).toBe('{"cap":5, "model" : "other" ,\n "text":"Ünï \\"q\\" {}", "n": 1e2 }')
  })

  test('are inserted into an empty object without a comma', () => {
    const source = bytes('{ }')
    expect(text(edited(source, [inserted(source, 0, 'cap', 5)]))).toBe('{"cap":5 }')
  })
})
