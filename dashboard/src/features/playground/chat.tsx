import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { toApiFailure } from '../../api/client/failure.ts'
import { CHAT_WIRES, type ChatRequest, type EndpointType } from '../../api/playground/chat-wires.ts'
import { estimateQuery, modelsQuery, type OfferedModel } from '../../api/playground/models.ts'
import { CHAT_TEXT as TEXT } from '../../messages/chat.ts'
import { Failed } from '../../ui/feedback/failure.tsx'
import { Loading } from '../../ui/feedback/states.tsx'
import { costUsd } from '../../ui/format/money.ts'
import { Card } from '../../ui/layout/card.tsx'
import { ChatCodeCard } from './chat-code-card.tsx'
import { ChatConversation } from './chat-conversation.tsx'
import { ChatForm } from './chat-form.tsx'
import { ChatResult } from './chat-result.tsx'
import {
  chatRequest,
  FIRST_SETTINGS,
  isFree,
  maxTokensProblem,
  selectedType,
  temperatureProblem,
  typesOf,
} from './chat-settings.ts'
import { ModelChoice } from './model-choice.tsx'
import { DEFAULT_PAYER, PayerField, toPayer, usePayerKeys, useSendWhenReady } from './payer-field.tsx'
import { useChat } from './use-chat.ts'

/** A conversation with a model, charged to a key like any other call. */
export function Chat({ chosen, onModel }: { chosen: string | undefined; onModel: (id: string) => void }) {
  const query = useQuery(modelsQuery)
  const models = (query.data ?? []).filter((one) => typesOf(one).length > 0)
  const model = models.find(({ id }) => id === chosen) ?? models.find(isFree) ?? models[0]
  if (query.error && !query.data)
    return <Failed failure={toApiFailure(query.error)} onRetry={() => void query.refetch()} />
  if (query.isPending) return <Loading rows={6} />
  if (!model)
    return (
      <Card title={TEXT.chat}>
        <p className="text-muted">{TEXT.none}</p>
      </Card>
    )
  return <Conversation models={models} model={model} onModel={onModel} />
}

/** The placeholder message for the code and the estimate. */
const NO_MESSAGE = 'Hello'

function Conversation({ models, model, onModel }: ConversationProps) {
  const [settings, setSettings] = useState(FIRST_SETTINGS)
  const [draft, setDraft] = useState('')
  const [payerChoice, setCharging] = useState(DEFAULT_PAYER)
  const [shown, setShown] = useState(false)
  const chat = useChat()
  const { chosen: keyId, allowedModels, ready } = usePayerKeys(payerChoice)
  const payer = toPayer(payerChoice, keyId)
  const type = selectedType(model, settings.type)
  const request = chatRequest(model, settings, [...chat.messages, { role: 'user', text: draft.trim() || NO_MESSAGE }])
  const maxCost = useMaxCost(type, request)
  const busy = chat.writing !== null
  const isWrong =
    draft.trim() === '' ||
    temperatureProblem(settings.temperature) !== null ||
    maxTokensProblem(settings.maxTokens, model) !== null
  const send = async () => {
    setShown(true)
    if (isWrong || busy || payer === null) return
    const message = draft
    setDraft('')
    setShown(false)
    const accepted = await chat.send(type, request, payer)
    // If there was no response, puts the message back into the form, unless something else was typed meanwhile.
    if (!accepted) setDraft((now) => (now === '' ? message : now))
  }
  const sendWhenReady = useSendWhenReady(ready, () => void send())
  const forbidden = payerChoice.kind === 'account_key' && allowedModels.length > 0 && !allowedModels.includes(model.id)
  return (
    <div className="grid min-w-0 grid-cols-1 gap-6 xl:grid-cols-2">
      <ChatForm
        model={model}
        settings={settings}
        draft={draft}
        shown={shown}
        ready={ready}
        busy={busy}
        sendWords={maxCost === 0 ? TEXT.sendFree : TEXT.send(maxCost === null ? null : costUsd(maxCost))}
        choice={
          <ModelChoice models={models} model={model} settings={settings} onModel={onModel} onSettings={setSettings} />
        }
        payerField={
          <>
            <PayerField keysOnly payerChoice={payerChoice} shown={shown} onChange={setCharging} />
            {forbidden && <p className="small text-warn">{TEXT.notAllowed}</p>}
          </>
        }
        onSettings={setSettings}
        onDraft={setDraft}
        onSend={sendWhenReady}
        onStop={chat.stop}
      />
      <div className="grid min-w-0 grid-cols-1 content-start gap-6">
        <ChatConversation messages={chat.messages} writing={chat.writing} model={model.id} onClear={chat.clear} />
        {chat.outcome && <ChatResult outcome={chat.outcome} />}
        <ChatCodeCard type={type} request={request} />
      </div>
    </div>
  )
}

type ConversationProps = { models: readonly OfferedModel[]; model: OfferedModel; onModel: (id: string) => void }

const SETTLE_MS = 400

/** The maximum cost of the call in micro-USD, fetched when typing pauses; null until it is known. */
function useMaxCost(type: EndpointType, request: ChatRequest): number | null {
  const body = CHAT_WIRES[type].body(request)
  const requestKey = JSON.stringify([type, request.model, body])
  const enabled = useDebounced(requestKey, SETTLE_MS) === requestKey
  return useQuery({ ...estimateQuery(type, request.model, body), enabled }).data?.most_micros_usd ?? null
}

/** A value that is updated only after it has not changed for some time. */
function useDebounced<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}
