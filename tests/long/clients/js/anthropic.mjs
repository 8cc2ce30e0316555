import Anthropic from '@anthropic-ai/sdk'
import { holds, KEY, ORIGIN, runCalls } from './first-calls.mjs'

const client = new Anthropic({ baseURL: ORIGIN, apiKey: KEY })
const body = { model: 'claude-sonnet-4-5', max_tokens: 1024, messages: [{ role: 'user', content: 'Hello, Claude' }] }

await runCalls({
  async messages() {
    holds((await client.messages.create(body)).content[0].text)
  },
  async 'messages, streamed'() {
    holds(await client.messages.stream(body).finalText())
  },
  async 'count tokens'() {
    const { messages } = body
    holds((await client.messages.countTokens({ model: 'sandbox/echo', messages })).input_tokens)
  },
  async models() {
    holds((await client.models.list()).data.some(({ id }) => id === 'claude-sonnet-4-5'))
  },
})
