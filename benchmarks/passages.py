"""Two plain English passages, written for these benchmarks; each is longer than 512 word pieces."""

HARBOUR = """
The harbour lies at the end of a narrow bay, and for most of the year it is quiet. In the morning
the boats go out before the sun is up, and by noon most of them are back, with boxes of herring and
mackerel that are weighed on the quay. The woman who runs the ice house knows every crew by name.
She keeps a notebook in which she writes what each boat landed, how the weather was, and who owes
her money. When her father kept the same notebook, forty years ago, a page was filled in a day; now
it lasts a week. The fish have moved north, people say, and so have the young men.

In spring a group of students came from the university to measure the water. They lowered small
bottles from the pier, every hour, for three days and three nights, and they slept in the old
school. At first nobody paid much attention to them. Then one of the fishermen asked what they were
looking for, and the tallest of the students explained that cold water holds more oxygen than warm
water, and that fish, like people, go where they can breathe. The fisherman thought about this for a
while. He said that his grandfather had never needed a bottle to know where the fish were, but that
his grandfather had also never seen a summer as warm as the last one.

The results were printed in the autumn. The students had found that the deep layer of the bay was
two degrees warmer than it had been when the first measurements were made, and that the change had
not been steady: it came in jumps, after storms that pushed the water of the open sea over the sill
at the mouth of the bay. The report was short, and it had a picture of the ice house on its cover.
The woman put a copy of it in the window, next to the list of prices. Tourists stopped to read it,
and some of them came in and asked about the notebook.

That is how the notebook came to be copied. A librarian took photographs of all its pages, those of
the father and those of the daughter, and a computer read the handwriting as well as it could. Where
it failed, the woman helped. She could tell a seven from a one by the kind of ink, because she
remembered in which winter the good ink had run out. In the end there were sixty years of landings,
day by day, with notes on wind, ice and the colour of the water. The students laid them beside their
own measurements, and for the first time they could see what the fishermen had always known: in the
years before the fish left, the boats had stayed out longer, gone farther, and come home with less.
Nobody had hidden it, and nobody had added it up.
"""

CLOCK = """
The town hall has a clock that has been wrong for as long as anyone can remember. It is not broken.
It runs four minutes slow in winter and two minutes fast in July, and on a few days in April and in
October it agrees with every other clock in the country. Visitors set their watches by it and miss
their trains. The people who live here do not look at the hands at all; they listen to the bell,
and take off a little or add a little, according to the season.

Last year the council decided to have it repaired. Two offers were received. The first came from a
large company, which wanted to replace the whole movement with an electric motor and a small radio
that listens to the official time. The second came from a retired engineer named Martha Lindqvist,
who lived two streets away and had never repaired a clock of this size. She wrote that she did not
know whether she would succeed, that she would charge nothing if she failed, and that she would like
to understand the fault before removing it. The council, after a long discussion about money, chose
her.

She spent the first month only watching. Every evening she climbed the ninety steps to the room
behind the dial, noted the temperature, the pressure and the error of the clock, and climbed down
again. The pendulum was an iron rod with a heavy lens of brass. Iron grows longer when it is warm,
and a longer pendulum swings more slowly, so the clock ought to lose time in summer and gain it in
winter. It did the opposite. She checked her figures twice, then a third time, and on a cold night
in February she found the reason. Somebody, perhaps a century ago, had tried to correct the rod with
two tubes of zinc, which push the lens upwards when they expand. The idea was sound and the drawing,
which she later discovered in the archive, was correct. But the tubes had been cut to the length
given in the drawing in inches of another country, and they were too long. They corrected the error
of the iron, and then they went on and made the same mistake in the other direction.

She shortened the tubes by the width of three fingers. It took one afternoon. Since then the clock
has been right to within five seconds a week, and nobody is pleased. The baker opens too early, the
choir begins before its singers have arrived, and an old man who always came to the square at what
he called noon has complained in a letter to the newspaper that the light is no longer where it used
to be. Martha Lindqvist has offered to put the old tubes back. The council will vote on it in the
spring, at eight in the evening, by the clock.
"""
