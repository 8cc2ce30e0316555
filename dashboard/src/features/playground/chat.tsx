import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { CHAT_WIRES, type ChatAsk, type EndpointType } from '../../api/chat-wires.ts'
import { asFailure } from '../../api/failure.ts'
import { estimateQuery, modelsQuery, type OfferedModel } from '../../api/models.ts'
import { CHAT_TEXT as TEXT } from '../../messages/chat.ts'
import { Card } from '../../ui/card.tsx'
import { costUsd } from '../../ui/money.ts'
import { Failed, Loading } from '../../ui/states.tsx'
import { ChargeTo, chargeOf, NOT_CHOSEN, usePayingKeys } from './charge-to.tsx'
import { ChatCodeCard } from './chat-code-card.tsx'
import { ChatConversation } from './chat-conversation.tsx'
import { ChatForm } from './chat-form.tsx'
import { ChatResult } from './chat-result.tsx'
import { askOf, FIRST_SETTINGS, isFree, maxTokensProblem, temperatureProblem, typeOf } from './chat-settings.ts'
import { ModelChoice } from './model-choice.tsx'
import { useChat } from './use-chat.ts'
import { useSettled } from './use-settled.ts'

/** A conversation with any model of the gateway, charged to a key like any call of it. */
export function Chat({ chosen, onModel }: { chosen: string | undefined; onModel: (id: string) => void }) {
  const query = useQuery(modelsQuery)
  const models = query.data ?? []
  const model = models.find(({ id }) => id === chosen) ?? models.find(isFree) ?? models[0]
  if (query.error && !query.data)
    return <Failed failure={asFailure(query.error)} onTryAgain={() => void query.refetch()} />
  if (query.isPending) return <Loading rows={6} />
  if (!model)
    return (
      <Card title={TEXT.chat}>
        <p className="text-muted">{TEXT.none}</p>
      </Card>
    )
  return <Conversation models={models} model={model} onModel={onModel} />
}

/** What stands for the message before one is written, in the code and in the estimate. */
const NO_MESSAGE = 'Hello'

function Conversation({ models, model, onModel }: ConversationProps) {
  const [settings, setSettings] = useState(FIRST_SETTINGS)
  const [draft, setDraft] = useState('')
  const [charging, setCharging] = useState(NOT_CHOSEN)
  const [shown, setShown] = useState(false)
  const chat = useChat()
  const key = usePayingKeys(charging).chosen
  const charge = chargeOf(charging, key?.id ?? null)
  const type = typeOf(model, settings.type)
  const ask = askOf(model, settings, [...chat.turns, { role: 'user', text: draft.trim() || NO_MESSAGE }])
  const most = useMostCost(type, ask)
  const busy = chat.writing !== null
  const isWrong =
    draft.trim() === '' ||
    temperatureProblem(settings.temperature) !== null ||
    maxTokensProblem(settings.maxTokens, model) !== null
  const send = async () => {
    setShown(true)
    if (isWrong || busy || charge === null) return
    const message = draft
    setDraft('')
    setShown(false)
    const taken = await chat.ask(type, ask, charge)
    // What brought nothing is to be sent again, unless something else was written meanwhile.
    if (!taken) setDraft((now) => (now === '' ? message : now))
  }
  const forbidden =
    charging.kind === 'own' && key && key.allowed_models.length > 0 && !key.allowed_models.includes(model.id)
  return (
    <div className="grid min-w-0 grid-cols-1 gap-6 xl:grid-cols-2">
      <ChatForm
        model={model}
        settings={settings}
        draft={draft}
        shown={shown}
        busy={busy}
        sendWords={most === 0 ? TEXT.sendFree : TEXT.send(most === null ? null : costUsd(most))}
        choice={
          <ModelChoice models={models} model={model} settings={settings} onModel={onModel} onSettings={setSettings} />
        }
        charge={
          <>
            <ChargeTo keysOnly charging={charging} onChange={setCharging} />
            {forbidden && <p className="small text-warn">{TEXT.notAllowed}</p>}
          </>
        }
        onSettings={setSettings}
        onDraft={setDraft}
        onSend={() => void send()}
        onStop={chat.stop}
      />
      <div className="grid min-w-0 grid-cols-1 content-start gap-6">
        <ChatConversation turns={chat.turns} writing={chat.writing} model={model.id} onClear={chat.clear} />
        {chat.outcome && <ChatResult outcome={chat.outcome} />}
        <ChatCodeCard type={type} ask={ask} />
      </div>
    </div>
  )
}

type ConversationProps = { models: readonly OfferedModel[]; model: OfferedModel; onModel: (id: string) => void }

const SETTLE_MS = 400

/** The most that the call can cost, in micro-USD, asked once nothing was typed for a moment; null while it is not known. */
function useMostCost(type: EndpointType, ask: ChatAsk): number | null {
  const body = CHAT_WIRES[type].body(ask)
  const asked = JSON.stringify([type, ask.model, body])
  const enabled = useSettled(asked, SETTLE_MS) === asked
  return useQuery({ ...estimateQuery(type, ask.model, body), enabled }).data?.most_micros_usd ?? null
}
