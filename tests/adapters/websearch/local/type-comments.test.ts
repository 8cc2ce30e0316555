import { describe, expect, test } from 'bun:test'
import { typeEntries } from '../../../../server/adapters/websearch/local/build/type-comments'

describe('doc comments', () => {
  test('are indexed with the declaration they describe, under its owner', () => {
    const source = 'export interface Tool {\n  /** Sharpens it. {@link Stone} */\n  sharpen(times: number): void;\n}\n'
    const [entry] = typeEntries(source)
    expect(entry).toEqual({
      documented: true,
      section: {
        path: ['Tool', 'sharpen'],
        blocks: [
          { text: 'Sharpens it. Stone', kind: 'prose' },
          { text: '```ts\nsharpen(times: number): void;\n```', kind: 'code' },
        ],
      },
    })
  })

  test('that are internal or licenses are left out', () => {
    expect(typeEntries('/** @internal */\ndeclare const a: 1;\n/** @license MIT */\n')).toEqual([])
  })

  test('of exports without one are replaced by their declaration', () => {
    const [entry] = typeEntries('export declare class Relation<T> {\n  readonly one: T;\n}\n')
    expect(entry).toMatchObject({ documented: false, section: { path: ['Relation'] } })
  })
})
