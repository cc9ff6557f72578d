"""The printed curves point by point: read, drawn again with what drew them, and compared.

points     the points read off the printed pictures, and means of the authors' raw runs
sampling   what a finite number of runs adds to an exact law
programs   laws of the programs behind the pictures, where these are not the papers' mechanisms
noise      the same for their three kinds of Laplace noise
drawing    settings that predict a printed statistic; a series of points with two such settings
paper, draft, notes, abstract   the series of documents D, B, C and A
fit        how far a series lies from its points, and the badge that follows
catalogue  all series, by document and figure
panels     both panels of C's figures, as its pages draw them
causes     settings that the points tell apart, one at a time
"""
