import { useLocation } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'

/**
 * After navigation, moves the focus to the page and announces its title. Not on the first load, which browsers announce
 * themselves.
 */
export function PageFocus() {
  const path = useLocation({ select: ({ pathname }) => pathname })
  const before = useRef(path)
  const [title, setTitle] = useState('')
  useEffect(() => {
    if (before.current === path) return
    before.current = path
    document.getElementById('main')?.focus({ preventScroll: true })
    // A page sets its title when it is rendered, which may be after its code has loaded.
    const timer = setTimeout(() => setTitle(document.title), 300)
    return () => clearTimeout(timer)
  }, [path])
  return (
    <div aria-live="polite" className="sr-only">
      {title}
    </div>
  )
}
