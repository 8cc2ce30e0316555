import { OpenAI, OpenAIEmbedding } from '@llamaindex/openai'
import { agent } from '@llamaindex/workflow'
import { tool } from 'llamaindex'
import { z } from 'zod'
import { holds, KEY, ORIGIN, runCalls } from './first-calls.mjs'

const llm = new OpenAI({ model: 'gpt-4o-mini', apiKey: KEY, baseURL: `${ORIGIN}/v1` })

await runCalls({
  async chat() {
    holds((await llm.chat({ messages: [{ content: 'Tell me a joke.', role: 'user' }] })).message.content)
  },
  async 'agent with a tool'() {
    const jokeAgent = agent({
      tools: [
        tool({
          name: 'joke',
          description: 'Use this tool to get a joke',
          parameters: z.object({ topic: z.string() }),
          execute: () => 'Baby Llama is called cria',
        }),
      ],
      llm,
    })
    holds((await jokeAgent.run('Tell me something funny')).data.result)
  },
  async embeddings() {
    const model = new OpenAIEmbedding({ model: 'sandbox/embed', apiKey: KEY, baseURL: `${ORIGIN}/v1` })
    holds((await model.getTextEmbedding('Hello')).length > 1)
  },
})
