import { expect, test } from 'bun:test'
import { importValues, withHints } from '../../dashboard/src/features/operator/apis/import-values.ts'

test('a document fills in the name and the base URL of its import, however its YAML is written', () => {
  const filled = (document: string) => {
    const { name, baseUrl } = { ...importValues(null), ...withHints(importValues(null), document) }
    return [name, baseUrl]
  }
  const wanted = ['weather', 'https://api.vendor.example/v1']
  for (const document of [
    '{"info": {"title": "Weather API"}, "servers": [{"url": "https://api.vendor.example/v1/"}]}',
    'openapi: 3.1.0\ninfo:\n  version: 1\n  title: "Weather"\nservers:\n  - url: https://api.vendor.example/v1\n',
    "openapi: 3.1.0\ninfo: { title: Weather, version: '1' }\nservers: [{ url: 'https://api.vendor.example/v1' }]\n",
    "info: { version: '1', title: 'Weather' }\nservers:\n- { url: https://api.vendor.example/v1, description: x }\n",
  ])
    expect(filled(document)).toEqual(wanted)
  expect(filled("info: { title: Weather, version: '1' }\npaths: {}\n")).toEqual(['weather', ''])
})
