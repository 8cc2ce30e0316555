import { Agent, run, setDefaultOpenAIClient, setTracingDisabled, tool } from '@openai/agents'
import OpenAI from 'openai'
import { z } from 'zod'
import { holds, KEY, ORIGIN, runCalls } from './first-calls.mjs'

setDefaultOpenAIClient(new OpenAI({ baseURL: `${ORIGIN}/v1`, apiKey: KEY }))
setTracingDisabled(true)
const model = 'gpt-5.2'
const historyFunFact = tool({
  name: 'history_fun_fact',
  description: 'Give a fun fact about a historical event',
  parameters: z.object({ subject: z.string() }),
  execute: async () => 'Sharks are older than trees.',
})

await runCalls({
  async agent() {
    const agent = new Agent({ name: 'Assistant', instructions: 'You are a helpful assistant', model })
    holds((await run(agent, 'Write a haiku about recursion in programming.')).finalOutput)
  },
  async 'agent with a tool, then a second turn'() {
    const agent = new Agent({ name: 'History Tutor', model, tools: [historyFunFact] })
    const first = await run(agent, 'When did sharks first appear?')
    holds(first.finalOutput)
    holds((await run(agent, [...first.history, { role: 'user', content: 'And trees?' }])).finalOutput)
  },
  async 'agent, streamed'() {
    const stream = await run(new Agent({ name: 'Storyteller', model }), 'Tell me a story.', { stream: true })
    await stream.completed
    holds(stream.finalOutput)
  },
})
