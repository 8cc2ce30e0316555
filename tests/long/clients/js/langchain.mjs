import { ChatAnthropic } from '@langchain/anthropic'
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'
import { holds, KEY, ORIGIN, runCalls } from './first-calls.mjs'

const configuration = { baseURL: `${ORIGIN}/v1` }
const model = new ChatOpenAI({ model: 'gpt-4o', apiKey: KEY, configuration })
const getWeather = tool(({ city }) => `It's always sunny in ${city}!`, {
  name: 'get_weather',
  description: 'Get the weather for a given city',
  schema: z.object({ city: z.string() }),
})
const agent = async (of) => {
  const helper = createAgent({ model: of, tools: [getWeather] })
  const { messages } = await helper.invoke({ messages: [{ role: 'user', content: 'What is the weather in SF?' }] })
  holds(messages.length === 4, `${messages.length} messages`)
}

await runCalls({
  async chat() {
    holds((await model.invoke('I love programming.')).text)
  },
  async 'chat, streamed'() {
    let text = ''
    for await (const chunk of await model.stream('Hello')) text += chunk.text
    holds(text)
  },
  'agent with a tool': () => agent(model),
  'agent over Responses': () =>
    agent(new ChatOpenAI({ model: 'gpt-5.2', apiKey: KEY, configuration, useResponsesApi: true })),
  async embeddings() {
    const vectors = new OpenAIEmbeddings({ model: 'text-embedding-3-small', apiKey: KEY, configuration })
    holds((await vectors.embedDocuments(['one', 'two'])).length === 2)
  },
  async "Anthropic's chat"() {
    const claude = new ChatAnthropic({ model: 'claude-sonnet-4-5', apiKey: KEY, anthropicApiUrl: ORIGIN })
    holds((await claude.invoke('Hello')).text)
  },
})
