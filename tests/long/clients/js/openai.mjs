import OpenAI from 'openai'
import { holds, KEY, ORIGIN, runCalls } from './first-calls.mjs'

const client = new OpenAI({ baseURL: `${ORIGIN}/v1`, apiKey: KEY })
const messages = [{ role: 'user', content: 'Hello' }]

await runCalls({
  async responses() {
    holds((await client.responses.create({ model: 'gpt-5.2', input: 'Write a bedtime story.' })).output_text)
  },
  async 'responses, streamed'() {
    const types = []
    for await (const event of await client.responses.create({ model: 'gpt-5.2', input: 'Hi', stream: true }))
      types.push(event.type)
    holds(types.includes('response.completed'))
  },
  async chat() {
    holds((await client.chat.completions.create({ model: 'gpt-4o', messages })).choices[0].message.content)
  },
  async 'chat, streamed'() {
    holds(await client.chat.completions.stream({ model: 'gpt-4o', messages }).finalContent())
  },
  async embeddings() {
    const { data } = await client.embeddings.create({ model: 'text-embedding-3-small', input: ['one', 'two'] })
    holds(data.length === 2 && data[0].embedding.length > 1)
  },
  async moderations() {
    holds((await client.moderations.create({ model: 'omni-moderation-latest', input: 'a text' })).results.length === 1)
  },
  async images() {
    const { data } = await client.images.generate({ model: 'gpt-image-1', prompt: 'A cute baby sea otter' })
    holds(data[0].b64_json || data[0].url)
  },
  async speech() {
    const answer = await client.audio.speech.create({ model: 'gpt-4o-mini-tts', voice: 'coral', input: 'Hello' })
    holds((await answer.arrayBuffer()).byteLength > 0)
  },
  async models() {
    holds((await client.models.list()).data.some(({ id }) => id === 'gpt-4o'))
  },
})
