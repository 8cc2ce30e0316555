import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { embed, generateImage, generateSpeech, generateText, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { holds, KEY, ORIGIN, runCalls } from './first-calls.mjs'

const openai = createOpenAI({ baseURL: `${ORIGIN}/v1`, apiKey: KEY })
const anthropic = createAnthropic({ baseURL: `${ORIGIN}/v1`, apiKey: KEY })
const google = createGoogleGenerativeAI({ baseURL: `${ORIGIN}/v1beta`, apiKey: KEY })
const weather = tool({
  description: 'Get the weather in a location',
  inputSchema: z.object({ location: z.string() }),
  execute: async ({ location }) => ({ location, temperature: 72 }),
})

async function turns(model) {
  const messages = [{ role: 'user', content: 'What is the weather in San Francisco?' }]
  const options = { model, tools: { weather }, stopWhen: stepCountIs(5) }
  const first = await generateText({ ...options, messages })
  holds(first.text)
  messages.push(...first.response.messages, { role: 'user', content: 'And tomorrow?' })
  const second = streamText({ ...options, messages, onError: () => undefined })
  let text = ''
  for await (const part of second.fullStream) {
    if (part.type === 'error') throw part.error
    if (part.type === 'text-delta') text += part.text
  }
  holds(text)
}

await runCalls({
  async 'generate text (its default, Responses)'() {
    holds((await generateText({ model: openai('gpt-5.2'), prompt: 'Write a vegetarian lasagna recipe.' })).text)
  },
  'tools and two turns (its default, Responses)': () => turns(openai('gpt-5.2')),
  'tools and two turns over a chat upstream (Responses)': () => turns(openai('gpt-4o')),
  'tools and two turns (chat)': () => turns(openai.chat('gpt-4o')),
  'tools and two turns (Anthropic)': () => turns(anthropic('claude-sonnet-4-5')),
  'tools and two turns (Google)': () => turns(google('models/sandbox/echo')),
  async embed() {
    holds((await embed({ model: openai.embedding('text-embedding-3-small'), value: 'sunny day' })).embedding.length)
  },
  async 'generate image'() {
    holds((await generateImage({ model: openai.image('gpt-image-1'), prompt: 'Santa in a Cadillac' })).image.base64)
  },
  async 'generate speech'() {
    const { audio } = await generateSpeech({ model: openai.speech('gpt-4o-mini-tts'), text: 'Hello!', voice: 'alloy' })
    holds(audio.uint8Array.byteLength)
  },
})
