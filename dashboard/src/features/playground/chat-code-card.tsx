import { useState } from 'react'
import type { ChatRequest, EndpointType } from '../../api/playground/chat-wires.ts'
import { CHAT_TEXT as TEXT } from '../../messages/chat.ts'
import { UI_TEXT } from '../../messages/ui.ts'
import { CodeBlock } from '../../ui/code/code-block.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { Tabs } from '../../ui/layout/tabs.tsx'
import { type ChatLanguage, chatCode } from './chat-code.ts'

const LANGUAGES = (['curl', 'python', 'typescript'] as const).map((value) => ({ value, text: TEXT.languages[value] }))

/** The request that the form describes, as code that follows every change. */
export function ChatCodeCard({ type, request }: { type: EndpointType; request: ChatRequest }) {
  const [language, setLanguage] = useState<ChatLanguage>('curl')
  return (
    <Card title={TEXT.code}>
      <p className="text-muted">{TEXT.codeText}</p>
      <Tabs label={UI_TEXT.language} tabs={LANGUAGES} chosen={language} onChoose={setLanguage}>
        <CodeBlock
          label={UI_TEXT.code}
          code={chatCode(language, type, request, window.location.origin)}
          copyLabel={UI_TEXT.copyCommand}
        />
      </Tabs>
    </Card>
  )
}
