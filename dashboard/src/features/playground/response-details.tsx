import { useState } from 'react'
import type { TryResponse } from '../../api/playground/try-call.ts'
import { PLAYGROUND_TEXT as TEXT } from '../../messages/playground.ts'
import { UI_TEXT } from '../../messages/ui.ts'
import { Badge } from '../../ui/badge.tsx'
import { CodeBlock } from '../../ui/code/code-block.tsx'
import { costUsd } from '../../ui/format/money.ts'
import { Tabs } from '../../ui/layout/tabs.tsx'
import { RequestFailure } from '../../ui/requests/request-failure.tsx'
import { findImages, ImageGrid } from './image-grid.tsx'

type View = 'images' | 'json' | 'headers'

/** The response: status, time, cost, explained headers, and the answer as pictures or JSON. */
export function ResponseDetails({ response }: { response: TryResponse }) {
  const images = findImages(response.json)
  const [chosen, setChosen] = useState<View>('images')
  const view = chosen === 'images' && images.length === 0 ? 'json' : chosen
  const tabs = [
    ...(images.length > 0 ? [{ value: 'images' as const, text: `${TEXT.image} ${images.length}` }] : []),
    { value: 'json' as const, text: TEXT.json },
    { value: 'headers' as const, text: TEXT.headers },
  ]
  return (
    <div className="grid min-w-0 gap-4">
      <p role="status" className="flex flex-wrap items-center gap-3">
        <Badge tone={response.status < 400 ? 'ok' : response.status < 500 ? 'warn' : 'bad'}>{response.status}</Badge>
        <span>{TEXT.latency(response.ms)}</span>
        <span>{response.costMicros ? TEXT.cost(costUsd(response.costMicros)) : TEXT.free}</span>
        {response.requestId && (
          <span className="code text-muted wrap-anywhere">{UI_TEXT.request(response.requestId)}</span>
        )}
      </p>
      {response.failure && <RequestFailure failure={response.failure} />}
      <Tabs label={TEXT.views} tabs={tabs} chosen={view} onChoose={setChosen}>
        {view === 'images' && <ImageGrid images={images} />}
        {view === 'json' && (
          <CodeBlock
            label={TEXT.answer}
            code={response.json === undefined ? response.text : JSON.stringify(response.json, null, 2)}
            copyLabel={UI_TEXT.copyAnswer}
            tall
          />
        )}
        {view === 'headers' && <Headers headers={response.headers} />}
      </Tabs>
    </div>
  )
}

function Headers({ headers }: { headers: TryResponse['headers'] }) {
  return (
    <dl className="grid gap-3">
      {headers.map(([name, value]) => (
        <div key={name} className="grid gap-x-4 border-b border-line pb-2">
          <dt className="code text-muted">{name}</dt>
          <dd className="wrap-anywhere">
            {value}
            {TEXT.explained[name] !== undefined && (
              <span className="small block text-muted">{TEXT.explained[name]}</span>
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}
