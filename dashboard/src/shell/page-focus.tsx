import { useLocation } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'

/** After a change of page: focus goes to the page, and its title is read out. Not at the first load, which the browser tells. */
export function PageFocus() {
  const path = useLocation({ select: ({ pathname }) => pathname })
  const before = useRef(path)
  const [title, setTitle] = useState('')
  useEffect(() => {
    if (before.current === path) return
    before.current = path
    document.getElementById('main')?.focus({ preventScroll: true })
    // The page sets its title when it is shown, which may be after its code has come.
    const timer = setTimeout(() => setTitle(document.title), 300)
    return () => clearTimeout(timer)
  }, [path])
  return (
    <div aria-live="polite" className="sr-only">
      {title}
    </div>
  )
}
