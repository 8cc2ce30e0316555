import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { holds, KEY, ORIGIN, runCalls } from './first-calls.mjs'

const tools = async (options) => {
  const client = new Client({ name: 'my-client', version: '1.0.0' }, options)
  const requestInit = { headers: { authorization: `Bearer ${KEY}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${ORIGIN}/mcp`), { requestInit }))
  holds((await client.listTools()).tools.some(({ name }) => name === 'image_search'))
  const result = await client.callTool({ name: 'image_search', arguments: { q: 'otters' } })
  holds(!result.isError, JSON.stringify(result.content))
  await client.close()
}

await runCalls({
  'list tools, call one (its default)': () => tools({}),
  'list tools, call one (2026-07-28)': () => tools({ versionNegotiation: { mode: { pin: '2026-07-28' } } }),
})
