import { GoogleGenAI } from '@google/genai'
import { holds, KEY, ORIGIN, runCalls } from './first-calls.mjs'

const ai = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: ORIGIN } })
const model = 'gemini-2.5-flash'

await runCalls({
  async 'generate content'() {
    holds((await ai.models.generateContent({ model, contents: 'Why is the sky blue?' })).text)
  },
  async 'generate content, streamed'() {
    let text = ''
    for await (const chunk of await ai.models.generateContentStream({ model, contents: 'Hi' })) text += chunk.text ?? ''
    holds(text)
  },
  async chat() {
    const chat = ai.chats.create({ model })
    holds((await chat.sendMessage({ message: 'Hello' })).text)
    holds((await chat.sendMessage({ message: 'Again' })).text)
  },
  async 'count tokens'() {
    holds((await ai.models.countTokens({ model: 'models/sandbox/echo', contents: 'Hello' })).totalTokens)
  },
  async 'embed content'() {
    const answer = await ai.models.embedContent({ model: 'models/sandbox/embed', contents: ['one', 'two'] })
    holds(answer.embeddings.length === 2)
  },
})
