import { Mppx, tempo } from 'mppx/client'
import { createClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { tempoLocalnet } from 'viem/chains'
import { ORIGIN, runCalls } from './first-calls.mjs'

await runCalls({
  'pay one request with the newest viem, 2.57.20': async () => {
    const account = privateKeyToAccount(process.env.PAYER_KEY)
    const getClient = () => createClient({ chain: tempoLocalnet, transport: http(process.env.TEMPO_RPC_URL) })
    const payer = Mppx.create({ polyfill: false, methods: [tempo({ account, getClient })] })
    const answer = await payer.fetch(`${ORIGIN}/apis/v1/websearch/images/search?q=otters`)
    if (answer.status !== 200) throw new Error(await answer.text())
  },
})
