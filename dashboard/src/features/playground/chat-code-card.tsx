import { useState } from 'react'
import type { ChatAsk, EndpointType } from '../../api/chat-wires.ts'
import { Card } from '../../ui/card.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { CHAT_WORDS as WORDS } from '../../words/chat.ts'
import { KIT_WORDS } from '../../words/kit.ts'
import { type ChatLanguage, chatCode } from './chat-code.ts'

const LANGUAGES = (['curl', 'python', 'typescript'] as const).map((value) => ({ value, text: WORDS.languages[value] }))

/** The call that the form describes, as code, always in step. */
export function ChatCodeCard({ type, ask }: { type: EndpointType; ask: ChatAsk }) {
  const [language, setLanguage] = useState<ChatLanguage>('curl')
  return (
    <Card title={WORDS.code}>
      <p className="text-muted">{WORDS.codeText}</p>
      <Tabs label={KIT_WORDS.language} tabs={LANGUAGES} chosen={language} onChoose={setLanguage}>
        <CodeBlock
          label={KIT_WORDS.code}
          code={chatCode(language, type, ask, window.location.origin)}
          copyLabel={KIT_WORDS.copyCommand}
        />
      </Tabs>
    </Card>
  )
}
