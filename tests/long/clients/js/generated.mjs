// A client that @hey-api/openapi-ts generates from the gateway's document. It must compile, and make a paid call.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient } from '@hey-api/openapi-ts'
import ts from 'typescript'
import { holds, KEY, ORIGIN, runCalls } from './first-calls.mjs'

const path = join(import.meta.dir, 'generated')
const clientOf = async () => (await import(join(path, 'client.gen.ts'))).client

await runCalls({
  async generate() {
    const input = await (await fetch(`${ORIGIN}/openapi.json`)).json()
    await rm(path, { recursive: true, force: true })
    const plugins = ['@hey-api/client-fetch', '@hey-api/sdk', '@hey-api/typescript']
    await createClient({ input, output: { path }, plugins, logs: { level: 'silent' } })
  },
  async compile() {
    const options = { strict: true, noEmit: true, skipLibCheck: true, target: ts.ScriptTarget.ES2022, types: [] }
    const modern = { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler }
    const program = ts.createProgram([join(path, 'index.ts')], { ...options, ...modern })
    const [first] = ts.getPreEmitDiagnostics(program)
    if (first) throw new Error(ts.flattenDiagnosticMessageText(first.messageText, ' '))
  },
  async 'a paid search'() {
    const { imageSearch } = await import(join(path, 'sdk.gen.ts'))
    const client = await clientOf()
    client.setConfig({ baseUrl: ORIGIN, auth: KEY })
    const { data, error, response } = await imageSearch({ query: { q: 'otters' } })
    if (error) throw new Error(JSON.stringify(error))
    holds(Array.isArray(data.results) && Number(response.headers.get('x-cost-micros-usd')) > 0)
  },
  async 'a chat'() {
    const { chatCompletions } = await import(join(path, 'sdk.gen.ts'))
    const { data, error } = await chatCompletions({
      body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] },
    })
    if (error) throw new Error(JSON.stringify(error))
    holds(data.choices[0].message.content)
  },
})
